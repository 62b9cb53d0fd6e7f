/**
 * Coding agents, unmodified: each makes a file, reads it and changes it. The model is scripted, and all that is
 * between it and the agent is the real thing. None of them needs the network. Prints the rows of the table in
 * docs/agents.md.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { BLOCK_SIZE } from '../../src/engine/kv-cache/prefix-index.ts';
import { needs } from '../support/needs.ts';
import { type AgentRun, END, runAgent } from './support/agent-run.ts';
import { AGENTS } from './support/agents.ts';

describe.each(AGENTS)('$name', (agent) => {
  test(
    'edits a file, and finds in each turn what it said before',
    needs(...agent.needs),
    async () => {
      const done = await runAgent(agent);
      const { stdout, work, exchanges, turns } = done;
      console.log(rowOf(agent.name, done));
      expect(stdout).toContain(END);
      expect(await readFile(join(work, 'a.txt'), 'utf8')).toBe('hens\neggs\n');
      expect(exchanges.filter(({ status }) => status >= 400)).toEqual([]);
      // Three calls, each of which has an answer.
      expect(turns).toHaveLength(4);
      const [first, ...later] = turns;
      expect(first?.cached).toBe(0);
      for (const [index, { cached }] of later.entries()) {
        const { prompt = NaN, cached: before = NaN } = turns[index] ?? {};
        expect(cached).toBeGreaterThan(before);
        // All of the last prompt but a part of a block, unless the agent itself has moved it.
        expect(cached).toBeGreaterThan(agent.moves === undefined ? prompt - BLOCK_SIZE : 0);
      }
    },
  );
});

/** As docs/agents.md has it. */
function rowOf(name: string, { numCalls, exchanges, turns }: AgentRun): string {
  const refused = exchanges.filter(({ status }) => status >= 400).length;
  const shares = turns.map(({ cached, prompt }) => `${((100 * cached) / prompt).toFixed(1)}%`);
  const tokens = turns.map(({ prompt }) => prompt);
  return `| ${[name, turns.length, numCalls, exchanges.length, refused, tokens.join(', '), shares.join(', ')].join(' | ')} |`;
}
