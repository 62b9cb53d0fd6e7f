import { expect, test } from 'vitest';
import { ChatTemplateError } from '../src/front/templates/chat-message.ts';
import { GrammarError } from '../src/grammar/grammar-spec.ts';
import { ModelError } from '../src/model/model-error.ts';
import { UserError } from '../src/user-error.ts';

test.each([UserError, ModelError, GrammarError, ChatTemplateError])(
  'a message of %o that quotes half a character can be told',
  (Kind) => {
    const cause = new Error('x');
    const error = new Kind('a tensor "\ud83d"', { cause });
    expect(error.message).toBe('a tensor "\ufffd"');
    expect(error.cause).toBe(cause);
  },
);
