import { cp, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const SUMMIT = 'models/summit';

/** Summit with a longer reach. @returns a folder, to be removed */
export async function stretchedSummit(maxPositions: number): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'chairlift-stretched-'));
  await cp(SUMMIT, folder, { recursive: true });
  const config: object = JSON.parse(await readFile(join(SUMMIT, 'config.json'), 'utf8'));
  const stretched = { ...config, max_position_embeddings: maxPositions };
  await writeFile(join(folder, 'config.json'), JSON.stringify(stretched));
  return folder;
}
