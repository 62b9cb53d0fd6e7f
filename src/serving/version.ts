import { readFile } from 'node:fs/promises';
import { z } from 'zod';

const packageJson = z.object({
  version: z.string(),
  engines: z.object({ node: z.string().startsWith('>=') }),
});

/** The version in our package.json. */
export async function packageVersion(): Promise<string> {
  return (await readPackage()).version;
}

/** The lowest version of Node.js that we run on, such as `20.19`. */
export async function leastNodeVersion(): Promise<string> {
  return (await readPackage()).engines.node.replace('>=', '');
}

async function readPackage(): Promise<z.output<typeof packageJson>> {
  const text = await readFile(new URL('../../package.json', import.meta.url), 'utf8');
  return packageJson.parse(JSON.parse(text));
}
