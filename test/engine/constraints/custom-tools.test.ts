/** Texts of custom tools and arguments of strict ones, drawn: each is as its grammar says, in every format. */
import { afterAll, expect, it } from 'vitest';
import { TOOL_CALL_FORMATS } from '../../../src/front/tool-calls/formats.ts';
import { drawCalls, spelled } from '../../support/drawn-calls.ts';
import { drawTool } from '../../support/drawn-tools.ts';
import { everyOrLong, orLong } from '../../support/long-runs.ts';
import { RandomTextEngine } from '../../support/random-text-engine.ts';

const engine = new RandomTextEngine();
afterAll(() => engine.grammars.release());

const TOOLS_PER_FORMAT = orLong(3, 5);

const FORMATS = TOOL_CALL_FORMATS.map(
  ({ names, layout }, index) => [names.join(' '), layout, index] as const,
);

it.each(everyOrLong(2, FORMATS))('%s', async (name, layout, index) => {
  const first = 1 + index * TOOLS_PER_FORMAT;
  const tools = Array.from({ length: TOOLS_PER_FORMAT }, (_, at) => drawTool(first + at));
  const calls = await drawCalls(engine, spelled(layout), name === 'openai', tools, first);
  // Some go on and on, drawn as they are.
  const told = calls.filter(({ hasEnded, text }) => hasEnded || text !== null);
  expect(told.length).toBeGreaterThan(TOOLS_PER_FORMAT / 2);
  const wrong = told.filter(({ tool, text }) => text === null || !tool.isRight(text));
  expect(wrong.map(({ tool, written, text }) => ({ ...tool, written, text }))).toEqual([]);
});
