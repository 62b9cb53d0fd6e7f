import { expect, test } from 'vitest';
import { ClientCounts } from '../../../src/server/websocket/client-counts.ts';

test('a client has as much at work as it may, and others as much', () => {
  const counts = new ClientCounts(2);
  const first = counts.begin('a');
  expect(counts.begin('a')).not.toBeNull();
  expect(counts.begin('a')).toBeNull();
  expect(counts.begin('b')).not.toBeNull();
  first?.();
  first?.();
  expect(counts.begin('a')).not.toBeNull();
  expect(counts.begin('a')).toBeNull();
});
