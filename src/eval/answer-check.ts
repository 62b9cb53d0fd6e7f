import { isDeepStrictEqual } from 'node:util';

/**
 * How an answer is judged: `text`, the same but for white space around it; `json`, anything that
 * parses; `json-value`, the same value as JSON, whatever the order of keys.
 */
export const ANSWER_CHECKS = ['text', 'json', 'json-value'] as const;
export type AnswerCheck = (typeof ANSWER_CHECKS)[number];

export function isCorrect(check: AnswerCheck, got: string, expected: string): boolean {
  switch (check) {
    case 'text':
      return got.trim() === expected.trim();
    case 'json':
      return parse(got) !== undefined;
    case 'json-value': {
      const value = parse(got);
      return value !== undefined && isDeepStrictEqual(value, parse(expected));
    }
  }
}

/** The parsed text, or undefined, which no JSON text means. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
