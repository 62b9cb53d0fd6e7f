/** A library of Python, by python_peers.py in a process of its own. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { OpenContender } from '../contender.ts';

const SCRIPT = fileURLToPath(new URL('../python_peers.py', import.meta.url));
const timesSchema = z.object({ prefillMs: z.number(), decodeMs: z.number() });

export const openWith =
  (library: string): OpenContender =>
  async ({ gguf, sequences, capacity, threads }) => {
    if (gguf === null) throw new Error(`${library} takes a real model: --gguf`);
    const sizes = [threads, sequences, capacity].map(String);
    const child = spawn(
      process.env['PEERS_PYTHON'] ?? 'python3',
      [SCRIPT, library, gguf, ...sizes],
      {
        // Threads that wait in a loop would slow down the others.
        env: { ...process.env, OMP_NUM_THREADS: String(threads), OMP_WAIT_POLICY: 'passive' },
        stdio: ['pipe', 'pipe', 'inherit'],
      },
    );
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const answer = async (): Promise<unknown> => {
      const { value, done } = await lines.next();
      if (done === true) throw new Error(`${library} ended`);
      return JSON.parse(value);
    };
    await answer();
    return {
      async batch(work) {
        const prompts = work.map(({ promptTokenIds }) => promptTokenIds);
        const [{ outputTokens } = { outputTokens: 0 }] = work;
        child.stdin.write(`${JSON.stringify({ prompts, tokens: outputTokens })}\n`);
        return timesSchema.parse(await answer());
      },
      serve: null,
      async close() {
        const ended = once(child, 'exit');
        child.stdin.end();
        await ended;
      },
    };
  };
