/**
 * Calls of drawn tools in drawn formats, for `custom_tools.py` to check:
 *
 *     npx tsx scripts/references/drawn-calls.ts --tools 1000 > /tmp/calls.jsonl
 */
import { parseArgs } from 'node:util';
import { TOOL_CALL_FORMATS } from '../../src/front/tool-calls/formats.ts';
import { drawCalls, spelled } from '../../test/support/drawn-calls.ts';
import { Draws, drawTool } from '../../test/support/drawn-tools.ts';
import { RandomTextEngine } from '../../test/support/random-text-engine.ts';

const BATCH = 16;

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { tools: { type: 'string', default: '1000' } } });
  const numTools = Number(values.tools);
  const engine = new RandomTextEngine();
  for (let seed = 1; seed <= numTools; seed += BATCH) {
    const { names, layout } = new Draws(seed).of(TOOL_CALL_FORMATS);
    const count = Math.min(BATCH, numTools - seed + 1);
    const tools = Array.from({ length: count }, (_, index) => drawTool(seed + index));
    const isHarmony = names.includes('openai');
    for (const call of await drawCalls(engine, spelled(layout), isHarmony, tools, seed)) {
      const { tool, text, hasEnded } = call;
      process.stdout.write(`${JSON.stringify({ ...tool, format: names[0], text, hasEnded })}\n`);
    }
  }
  engine.grammars.release();
}

await main();
