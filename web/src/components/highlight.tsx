/** Colors for code. A tree of spans, not HTML. */
import bash from 'highlight.js/lib/languages/bash';
import c from 'highlight.js/lib/languages/c';
import cpp from 'highlight.js/lib/languages/cpp';
import css from 'highlight.js/lib/languages/css';
import diff from 'highlight.js/lib/languages/diff';
import go from 'highlight.js/lib/languages/go';
import java from 'highlight.js/lib/languages/java';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import markdown from 'highlight.js/lib/languages/markdown';
import python from 'highlight.js/lib/languages/python';
import rust from 'highlight.js/lib/languages/rust';
import shell from 'highlight.js/lib/languages/shell';
import sql from 'highlight.js/lib/languages/sql';
import typescript from 'highlight.js/lib/languages/typescript';
import xml from 'highlight.js/lib/languages/xml';
import yaml from 'highlight.js/lib/languages/yaml';
import { createLowlight } from 'lowlight';
import type { ComponentChildren } from 'preact';

const LANGUAGES = {
  bash,
  c,
  cpp,
  css,
  diff,
  go,
  java,
  javascript,
  json,
  markdown,
  python,
  rust,
  shell,
  sql,
  typescript,
  xml,
  yaml,
};

/** Longer ones would hold up the page at every new piece. */
const MAX_CHARACTERS = 20_000;

const lowlight = createLowlight(LANGUAGES);

type Node = ReturnType<typeof lowlight.highlight>['children'][number];

export function highlight(code: string, language: string): ComponentChildren {
  if (!lowlight.registered(language) || code.length > MAX_CHARACTERS) return code;
  return lowlight.highlight(language, code).children.map(toElement);
}

function toElement(node: Node, index: number): ComponentChildren {
  if (node.type === 'text') return node.value;
  if (node.type !== 'element') return null;
  const { className } = node.properties;
  return (
    <span key={index} class={Array.isArray(className) ? className.join(' ') : undefined}>
      {node.children.map(toElement)}
    </span>
  );
}
