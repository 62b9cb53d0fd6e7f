/** Grammars for models that think aloud before they answer. */
import { EBNF_TEXTS, literal } from './ebnf.ts';
import type { ThoughtLayout } from './grammar-source.ts';
import { MarkerEbnf } from './marker-ebnf.ts';

/** Texts that are left alone, and names. */
const PARTS = new RegExp(`${EBNF_TEXTS}|[A-Za-z_][\\w.-]*`, 'g');

/** @returns the grammar `ebnf` after a thought. @param callsTools whether its texts are tool calls */
export function afterThinking(ebnf: string, thought: ThoughtLayout, callsTools: boolean): string {
  const answer = ebnf.replaceAll(PARTS, (part) =>
    part === 'root' ? 'answer-after-thought' : part,
  );
  const { open, close, isOpen, next } = thought;
  const inside = new MarkerEbnf(close).textWithout();
  const after = next === '' ? '"\\n"{0,4}' : literal(next);
  const start = isOpen ? 'thought' : `(${literal(open)} thought)?`;
  const marker = callsTools || thought.answer === '' ? '' : `${literal(thought.answer)} `;
  return `${answer}\nthought ::= ${inside} ${literal(close)} ${after}\nroot ::= ${start} ${marker}answer-after-thought\n`;
}
