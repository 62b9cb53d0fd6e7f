/** A breakdown for people: a table, and bars as in a flame graph. */
import { table } from '../terminal/text-format.ts';
import type { Breakdown, Part } from './breakdown.ts';

/** Width of a bar, in characters. */
const WIDTH = 64;
const LABEL = 9;

export function profileText(breakdown: Breakdown, advice: readonly string[]): string {
  const { numRequests, clientMs, promptTokens, cachedTokens, outputTokens } = breakdown;
  const shape = `${Math.round(promptTokens)} prompt tokens (${Math.round(cachedTokens)} cached), ${Math.round(outputTokens)} output tokens`;
  return [
    `${numRequests} requests: ${shape}, ${clientMs.toFixed(1)} ms on average`,
    '',
    table(['STAGE', 'MEDIAN', 'P95', 'MEAN', 'SHARE'], rowsOf(breakdown)),
    '',
    ...barsOf(breakdown),
    '',
    'What to change next:',
    ...advice.map((line) => `- ${line}`),
  ].join('\n');
}

function rowsOf({ parts, inside }: Breakdown): string[][] {
  return parts.flatMap((part) =>
    part.name === 'decode' ? [rowOf(part), rowOf(inside, '  ')] : [rowOf(part)],
  );
}

function rowOf({ name, medianMs, p95Ms, meanMs, share }: Part, indent = ''): string[] {
  const times = [medianMs, p95Ms, meanMs].map((ms) => `${ms.toFixed(2)} ms`.padStart(11));
  return [indent + name, ...times, `${(100 * share).toFixed(1)} %`.padStart(7)];
}

/** The request above, its stages below, and what goes on during `decode` below that. */
function barsOf({ clientMs, serverMs, parts, inside }: Breakdown): string[] {
  const columns = (ms: number) => (clientMs === 0 ? 0 : Math.round((WIDTH * ms) / clientMs));
  const stages = parts.filter(({ name }) => name !== 'network');
  const letters: string[] = [];
  let reachedMs = 0;
  let decodeAt = 0;
  for (const { name, meanMs } of stages) {
    if (name === 'decode') decodeAt = letters.length;
    reachedMs += meanMs;
    const end = columns(reachedMs);
    while (letters.length < end) letters.push(name.charAt(0));
  }
  return [
    bar('client', '█'.repeat(WIDTH)),
    bar('server', '█'.repeat(columns(serverMs))),
    bar('stages', letters.join('')),
    bar('', `${' '.repeat(decodeAt)}${'▒'.repeat(columns(inside.meanMs))}`),
    bar(
      '',
      `${stages.map(({ name }) => `${name.charAt(0)} ${name}`).join('  ')}  ▒ ${inside.name}`,
    ),
  ].filter((line) => line.trim() !== '');
}

function bar(label: string, text: string): string {
  return `${label.padEnd(LABEL)}${text}`.trimEnd();
}
