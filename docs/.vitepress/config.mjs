// The pages as a static site: "make site" copies docs/ and runs VitePress in the copy.
// docs/README.md has the order of the pages.
import { readFileSync, writeFileSync } from 'node:fs'
import { withMermaid } from 'vitepress-plugin-mermaid'

const repository = 'https://github.com/lambda-once/once/blob/main/'
const folder = new URL('../', import.meta.url)
const read = (page) => readFileSync(new URL(page, folder), 'utf8')
const title = (page) => read(page).match(/^# (.*)$/m)[1]

// The sections of the index, each with the pages that it names first.
const pages = []
const sidebar = read('README.md').split('\n## ').slice(1).map((section) => {
  const items = []
  for (const [, page] of section.matchAll(/\]\(([a-z-]+\.md)\)/g)) {
    if (!pages.includes(page)) {
      pages.push(page)
      items.push({ text: title(page), link: '/' + page.replace('.md', '') })
    }
  }
  return { text: section.split('\n')[0], items }
}).filter((section) => section.items.length > 0)

// One page to print.
writeFileSync(new URL('print.md', folder), '# All pages\n\n' + pages.map((page) => `<!--@include: ./${page}-->\n`).join('\n'))

// The anchors are those of GitHub, as a test of examples/docs computes them.
const slugify = (heading) => heading.trim().toLowerCase().replace(/[^\p{L}\p{N}_ -]/gu, '').replaceAll(' ', '-')

// A link out of docs/ leads to the repository.
function outside(md) {
  md.core.ruler.push('outside', (state) => {
    for (const token of state.tokens.flatMap((token) => token.children ?? [])) {
      const href = token.type === 'link_open' ? token.attrGet('href') : ''
      if (href.startsWith('../')) token.attrSet('href', repository + href.slice(3))
    }
  })
}

export default withMermaid({
  title: 'Once',
  description: 'AWS Lambda functions in Go that are safe to call twice',
  cleanUrls: true,
  markdown: { anchor: { slugify }, config: outside },
  rewrites: { 'README.md': 'index.md' },
  themeConfig: {
    nav: [{ text: 'Print', link: '/print' }, { text: 'Repository', link: repository }],
    outline: [2, 3],
    search: { provider: 'local' },
    sidebar: [{ text: 'Documentation', link: '/' }, ...sidebar],
  },
})
