import { expect, test } from 'vitest';
import { TaskError, TaskTooCostlyError } from '../../../src/front/prompts/fair-pool.ts';
import { warmUpPrompts } from '../../../src/front/prompts/warm-up-prompts.ts';

const failing = (reason: Error) => ({
  canChat: false,
  encodeTexts: () => Promise.reject(reason),
  encodeChat: () => Promise.reject(reason),
});

test('a machine that is too busy to make prompts in time starts all the same', async () => {
  await warmUpPrompts(failing(new TaskTooCostlyError('takes longer than the limit of 10 s')));
  const broken = failing(new TaskError('no such file'));
  await expect(warmUpPrompts(broken)).rejects.toThrow('no such file');
});
