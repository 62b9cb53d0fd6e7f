import { expect, test } from 'vitest';
import { MessageTree } from '../../web/src/views/chat/model/message-tree.ts';
import { message } from './messages.ts';

function idsOf(messages: readonly { readonly id: string }[]): string[] {
  return messages.map(({ id }) => id);
}

/** Two questions; the first has two answers, of which the second goes on. */
const tree = () =>
  new MessageTree([
    message('q1', null),
    message('q2', null),
    message('a1', 'q1'),
    message('a2', 'q1'),
    message('q3', 'a2'),
    message('b1', 'q2', { group: 'g' }),
    message('b2', 'q2', { group: 'g' }),
    message('b3', 'q2'),
  ]);

test('the newest branch is shown where none is chosen', () => {
  expect(idsOf(tree().path({}))).toEqual(['q2', 'b3']);
  expect(idsOf(tree().path({ root: 'q1' }))).toEqual(['q1', 'a2', 'q3']);
  expect(idsOf(tree().path({ root: 'q1', q1: 'a1' }))).toEqual(['q1', 'a1']);
  expect(idsOf(tree().path({ root: 'gone' }))).toEqual(['q2', 'b3']);
});

test('answers side by side are one version', () => {
  const versions = tree().versionsOf(message('b3', 'q2'));
  expect(versions.map(idsOf)).toEqual([['b1', 'b2'], ['b3']]);
});

test('the way to a message does not depend on what is chosen', () => {
  expect(idsOf(tree().pathTo('q3'))).toEqual(['q1', 'a2', 'q3']);
  expect(tree().pathTo(null)).toEqual([]);
});

test('a changed message keeps its place', () => {
  const all = tree();
  all.set(message('a1', 'q1', { content: 'changed' }));
  expect(idsOf(all.childrenOf('q1'))).toEqual(['a1', 'a2']);
  expect(all.get('a1')?.content).toBe('changed');
});
