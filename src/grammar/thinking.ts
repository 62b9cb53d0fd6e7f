/** Grammars for models that think aloud before they answer. */

/** Whatever does not look like a closing tag, then the tag. */
const THOUGHT = '([^<] | "<" [^/<])* "</think>" "\\n"{0,4}';

/** Literals, character classes and comments, which are left alone, and names. */
const PARTS = /"(?:\\.|[^"\\])*"|\[(?:\\.|[^\]\\])*\]|#[^\n]*|[A-Za-z_][\w.-]*/g;

/**
 * The grammar `ebnf` after a thought.
 * @param isOpen the prompt has opened the thought already; else the model may open one
 */
export function afterThinking(ebnf: string, isOpen: boolean): string {
  const answer = ebnf.replaceAll(PARTS, (part) =>
    part === 'root' ? 'answer-after-thought' : part,
  );
  const start = isOpen ? 'thought' : '("<think>" thought)?';
  return `${answer}\nthought ::= ${THOUGHT}\nroot ::= ${start} answer-after-thought\n`;
}
