import { afterAll, inject, it } from 'vitest';
import { temporaryCache } from '../../support/temporary-cache.ts';
import type { Attack } from './attack.ts';
import { expectUnharmed } from './expect-unharmed.ts';
import { mount } from './stage.ts';
import { addRow } from './table.ts';

/**
 * One test for each attack of a family, each on a server of its own.
 * @param file the module that exports `attacks`; the attackers' processes load it too
 */
export async function mountAll(family: string, file: URL): Promise<void> {
  const { attacks } = (await import(file.href)) as { readonly attacks: readonly Attack[] };
  const cache = await temporaryCache();
  afterAll(() => cache.remove());
  it.each(attacks)('$name', async (attack) => {
    const outcome = await mount(file, attack, cache.env);
    addRow(inject('hostileTable'), { family, attack: attack.name, outcome });
    expectUnharmed(attack, outcome);
  });
}
