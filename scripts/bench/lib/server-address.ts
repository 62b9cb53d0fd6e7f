import type { ChildProcess } from 'node:child_process';

/** Where a server listens, once it says so. */
export async function addressOf(child: ChildProcess): Promise<string> {
  for await (const chunk of child.stdout ?? []) {
    const url = /at (http:\/\/\S+)/.exec(String(chunk))?.[1];
    if (url !== undefined) return url;
  }
  throw new Error('the server did not start');
}
