import { expect, it } from 'vitest';
import { portOfHost } from '../../src/cli/flags/http-flags.ts';

it('listens where a host says by PORT, and on 8000 where it says nothing that is a port', () => {
  expect(portOfHost({ PORT: '8123' })).toBe(8123);
  for (const PORT of [undefined, '', '0', '65536', '-1', '80a', '\\\\.\\pipe\\x']) {
    expect(portOfHost({ PORT }), PORT).toBe(8000);
  }
});
