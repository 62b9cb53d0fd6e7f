import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { serverAccess } from '../../../src/cli/server/server-access.ts';
import { settingsFrom } from '../../support/settings.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

test.each(['run', 'ps', 'stop', 'bench', 'profile'] as const)(
  '%s reads its key from a file',
  async (command) => {
    const file = join(await temporaryDirectory(), 'key');
    await writeFile(file, 'secret\n');
    const operands = command === 'run' || command === 'stop' ? ['summit'] : [];
    const words = [...operands, '--api-key-file', file];
    const { options } = await settingsFrom(command, words);
    const access = await serverAccess(options);
    expect(access).toMatchObject({ isGiven: false, apiKey: 'secret' });
    const byVariable = await settingsFrom(command, operands, { CHAIRLIFT_SERVER_KEY_FILE: file });
    expect(byVariable.options.serverKeyFile).toBe(file);
  },
);

test('a key and a file for it contradict each other', async () => {
  const { options } = await settingsFrom('ps', ['--api-key', 'a', '--api-key-file', 'b']);
  await expect(serverAccess(options)).rejects.toThrow(
    '--api-key and --api-key-file: give one of them',
  );
});

test('a file that is not there is named with its flag', async () => {
  const { options } = await settingsFrom('ps', ['--api-key-file', 'no/key']);
  await expect(serverAccess(options)).rejects.toThrow('--api-key-file no/key: no such file');
});
