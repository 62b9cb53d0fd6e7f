import { createHash } from 'node:crypto';

/** The look of the documentation page. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --text: light-dark(#17181a, #eceef1);
  --soft: light-dark(#5c6067, #a6acb6);
  --line: light-dark(#e4e3df, #2f3238);
  --page: light-dark(#fcfcfb, #16171a);
  --side: light-dark(#ffffff, #1d1f23);
  --code: light-dark(#f4f3f0, #25282d);
  --edge: light-dark(#8d8f94, #767c86);
  --link: light-dark(#1f69c1, #6aabf5);
  --on-link: light-dark(#ffffff, #0d1b2b);
  --post: light-dark(#1c7c46, #58c98a);
  --delete: light-dark(#b92a3a, #f57f8d);
}
:root[data-theme='light'] { color-scheme: light; }
:root[data-theme='dark'] { color-scheme: dark; }
* { box-sizing: border-box; }
html { scroll-behavior: smooth; scroll-padding-top: 1rem; background: var(--page); }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
body {
  margin: 0;
  display: grid;
  grid-template-columns: 19rem minmax(0, 1fr);
  color: var(--text);
  background: var(--page);
  font: 15px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif;
}
nav {
  position: sticky;
  top: 0;
  height: 100vh;
  overflow-y: auto;
  padding: 1.5rem;
  border-right: 1px solid var(--line);
  background: var(--side);
  font-size: 0.85rem;
}
nav h1 { margin: 0; font-size: 1.3rem; }
nav h2 { margin: 1.3rem 0 0.3rem; font-size: 0.75rem; letter-spacing: 0.05em; text-transform: uppercase; color: var(--soft); }
nav p { margin: 0.2rem 0; color: var(--soft); }
nav ul { margin: 0; padding: 0; list-style: none; }
nav li a { display: grid; grid-template-columns: auto minmax(0, 1fr); align-items: baseline; padding: 0.15rem 0; overflow-wrap: anywhere; color: inherit; text-decoration: none; }
nav .back { text-decoration: none; }
nav li a:hover { color: var(--link); }
main { padding: 1.5rem 2.5rem 6rem; max-width: 62rem; }
main h2 { margin: 2.5rem 0 0; font-size: 1.5rem; }
section { padding: 1.1rem 0; border-bottom: 1px solid var(--line); }
h3 { margin: 0; font-size: 1.05rem; }
h3 code { padding: 0; background: none; font-size: 1rem; overflow-wrap: anywhere; }
p { margin: 0.5rem 0; }
a { color: var(--link); }
b { display: inline-block; min-width: 4.2em; font-size: 0.72rem; text-transform: uppercase; color: var(--link); }
b.post { color: var(--post); }
b.delete { color: var(--delete); }
i { margin-left: 0.6em; padding: 0.05em 0.5em; border: 1px solid var(--line); border-radius: 1em; font-size: 0.75rem; font-style: normal; color: var(--soft); }
code, pre { font-family: ui-monospace, monospace; font-size: 0.85em; background: var(--code); border-radius: 4px; }
code { padding: 0.1em 0.3em; }
pre { margin: 0.8rem 0; padding: 0.8rem 1rem; overflow-x: auto; line-height: 1.45; }
summary { margin: 0.6rem 0; cursor: pointer; color: var(--soft); }
table { width: 100%; border-collapse: collapse; font-size: 0.87rem; }
td { padding: 0.35rem 0.8rem 0.35rem 0; border-top: 1px solid var(--line); vertical-align: top; }
td:nth-child(2) { width: 30%; color: var(--soft); }
td:nth-child(3) { width: 42%; }
@media (max-width: 50rem) {
  body { display: block; }
  nav { position: static; height: auto; max-height: 70vh; border-right: 0; border-bottom: 1px solid var(--line); }
  main { padding: 1rem 1.2rem 4rem; }
}
`;

/** Source that the page's policy allows for styles: this one, and no other inline style. */
export const STYLE_SOURCE = `'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`;
