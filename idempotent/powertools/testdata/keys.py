# Computes keys as Powertools for AWS Lambda (Python) does, with the calls that it makes
# to json, jmespath and hashlib: for each line of JSON, the id and the validation of the
# record of an event.
import base64
import gzip
import hashlib
import json
import sys

import jmespath
from jmespath.functions import Functions, signature


class PowertoolsFunctions(Functions):
    @signature({"types": ["string"]})
    def _func_powertools_json(self, value):
        return json.loads(value)

    @signature({"types": ["string"]})
    def _func_powertools_base64(self, value):
        return base64.b64decode(value).decode()

    @signature({"types": ["string"]})
    def _func_powertools_base64_gzip(self, value):
        return gzip.decompress(base64.b64decode(value)).decode()


class Encoder(json.JSONEncoder):
    def default(self, o):
        return super().default(o)


def is_missing(data):
    if isinstance(data, (tuple, list, dict)):
        return all(x is None for x in data)
    if isinstance(data, (int, float, bool)):
        return False
    return not data


def key(request):
    data = event = json.loads(request["event"])
    hash_function = getattr(hashlib, request["hash"])
    if request["path"]:
        options = jmespath.Options(custom_functions=PowertoolsFunctions())
        data = jmespath.compile(request["path"]).search(event, options=options)
    if is_missing(data):
        return {"missing": True}

    def digest(value):
        return hash_function(json.dumps(value, cls=Encoder, sort_keys=True).encode()).hexdigest()

    answer = {"record": request["prefix"] + "#" + digest(data), "validation": ""}
    if request["validation"]:
        answer["validation"] = digest(jmespath.compile(request["validation"]).search(event))
    return answer


for line in sys.stdin:
    try:
        answer = key(json.loads(line))
    except Exception as error:
        answer = {"error": type(error).__name__}
    print(json.dumps(answer), flush=True)
