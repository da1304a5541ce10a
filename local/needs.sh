#!/bin/sh
# Names at once what a command needs and does not find, with the lines that install it:
#
#	local/needs.sh demo|test|python
#
# With ONCE_INSTALL=1 it installs that first, with apt-get and as root. It ends with 1 if
# something is still missing. Only a shell runs it, so that it works where Go is missing.
# What the tests fetch by themselves is not named: DynamoDB Local, PostgreSQL (with npm)
# and, where there is apt-get, a server of Redis.

has() { command -v "$1"; }

# Go 1.21 and later fetch the version of go.work.
go21() { go version | grep -Eq 'go(1\.(2[1-9]|[3-9][0-9])|[2-9])|devel'; }

java17() {
	for java in "${JAVA_HOME:+$JAVA_HOME/bin/}java" java; do
		major=$("$java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p')
		[ "${major:-0}" -ge 17 ] && return
	done
	return 1
}

# The engine may be off, and the command then hangs.
docker_runs() {
	has docker || return 1
	docker version --format '{{.Server.Version}}' &
	pid=$!
	(sleep 5 && kill "$pid") &
	guard=$!
	wait "$pid"
	code=$?
	kill "$guard"
	return $code
}

java_or_docker() { java17 || docker_runs; }

# 22 is what the pages ask for. The tests also run on 20.
node_and_npm() { has npm && [ "$(node --version | sed -n 's/^v\([0-9]*\).*/\1/p')" -ge 20 ]; }

python_and_jmespath() { python3 --version && { python3 -c 'import jmespath' || /usr/bin/python3 -c 'import jmespath'; }; }

compiler() { echo '#include <stdlib.h>' | ${CC:-gcc} -E -; }

redis() { has valkey-server || has redis-server || has apt-get || [ -n "$REDISLOCAL_ADDR" ] || docker_runs; }

browser() { has chromium || has chromium-browser || has google-chrome; }

# need WHAT DEBIAN MACOS CHECK
need() {
	"$4" >/dev/null 2>&1 && return
	report="$report
  $1
    Debian: $2
    macOS:  $3"
	lines="$lines$2
"
}

git_and_bash() { has git && has bash; }

look() {
	report='' lines=''
	case $1 in demo | test)
		need 'Go 1.26, or 1.21 and later, which fetches it' \
			"curl -fsSL https://go.dev/dl/go1.26.0.linux-\$(dpkg --print-architecture).tar.gz | tar -xzC /usr/local && ln -sf /usr/local/go/bin/* /usr/local/bin" \
			'brew install go' go21
		;;
	esac
	case $1 in test)
		need 'a C compiler, for the race detector' 'apt-get install -y gcc libc6-dev' 'xcode-select --install' compiler
		need 'git and bash' 'apt-get install -y git bash' 'brew install git bash' git_and_bash
		need 'Node 22 with npm (20 works, too)' 'apt-get install -y nodejs && (command -v npm || apt-get install -y npm) && npm install --global node@22' 'brew install node' node_and_npm
		need 'a server of Redis or Valkey' 'apt-get install -y redis-server' 'brew install valkey' redis
		need 'Chromium, for the page of once ui' 'apt-get install -y chromium || snap install chromium' 'brew install --cask chromium' browser
		;;
	esac
	case $1 in python | test)
		need 'Python 3 with jmespath' 'apt-get install -y python3 python3-jmespath' \
			'brew install python && python3 -m pip install --break-system-packages jmespath' python_and_jmespath
		;;
	esac
	case $1 in demo | test)
		need 'Java 17, or Docker with a running engine' 'apt-get install -y default-jre-headless' 'brew install --cask temurin@17' java_or_docker
		;;
	esac
}

install() {
	[ "$(id -u)" = 0 ] && has apt-get >/dev/null || {
		echo "ONCE_INSTALL=1 needs root and apt-get" >&2
		return 1
	}
	export DEBIAN_FRONTEND=noninteractive
	apt-get update && printf %s "$lines" | while read -r line; do
		echo "+ $line"
		sh -c "$line" </dev/null || exit 1
	done
}

look "$1"
if [ -n "$report" ] && [ "${ONCE_INSTALL:-}" = 1 ]; then
	install && look "$1"
fi
[ -z "$report" ] && exit
case $1 in python) echo "The tests of Powertools' keys need, and do not find:$report" ;; *) echo "make $1 needs, and does not find:$report" ;; esac
echo "ONCE_INSTALL=1 makes it run the lines for Debian itself, as root."
if [ "$1" = demo ] && go21 >/dev/null 2>&1; then
	echo "It runs in memory alone."
	exit 0
fi
exit 1
