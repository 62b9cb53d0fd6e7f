import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { ort } from '../../src/ort/api.ts';
import { forceGarbageCollection } from '../support/small-graphs.ts';
import { LINUX, needs } from '../support/needs.ts';

// Functions looked up in the API's table don't hold on to the library. Unless somebody does, it is
// unloaded at a garbage collection, and the next call into it is a segmentation fault.
it('keeps the library mapped', needs(LINUX), async () => {
  expect(ort().version).toMatch(/^1\./);
  for (let round = 0; round < 10; round++) await forceGarbageCollection();
  expect(readFileSync('/proc/self/maps', 'utf8')).toContain('libonnxruntime');
});
