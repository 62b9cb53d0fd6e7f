import type { JobResult } from './job.ts';

export interface Entry extends JobResult {
  /** Where it ran; `torch` for transformers. */
  readonly device: string;
  readonly attention?: string;
  readonly graphCapture?: boolean;
  readonly shape?: string;
  readonly precision?: string;
  readonly isCheck?: boolean;
}

export interface Report {
  readonly machine: string;
  readonly gpu: string;
  readonly runtime: string;
  readonly providers: readonly string[];
  readonly promptTokens: number;
  readonly entries: Entry[];
}

/** The report as Markdown: correctness, what went wrong, and a table of speeds for each shape. */
export function markdown(report: Report): string {
  const { machine, gpu, runtime, promptTokens, entries } = report;
  const found = entries.find((entry) => entry.adapters)?.adapters ?? [];
  const adapters = found.length === 0 ? 'no Vulkan driver' : `Vulkan: ${found.join(', ')}`;
  const lines = [
    '# Decoding on a GPU',
    '',
    `${gpu}; ${adapters}; ${machine}; ONNX Runtime ${runtime}. Random weights, prompts of ${promptTokens} tokens.`,
    '',
  ];
  for (const { check, ...entry } of entries) {
    if (!check) continue;
    const { equalTokens, tokens, worst } = check;
    lines.push(
      `- ${nameOf(entry)}: ${equalTokens} of ${tokens} greedy tokens as on the CPU, ` +
        `log-probabilities within ${worst.toExponential(1)}`,
    );
  }
  for (const { error, ...entry } of entries) {
    if (error !== undefined) lines.push(`- ${nameOf(entry)}: ${error}`);
  }
  for (const shape of new Set(entries.map((entry) => entry.shape))) {
    const measured = entries.filter((entry) => entry.shape === shape && entry.steps);
    if (measured.length === 0) continue;
    const rows = [...new Set(measured.flatMap(({ steps = [] }) => steps.map((step) => step.rows)))];
    lines.push('', `## ${shape}: tokens per second (step in ms)`, '');
    lines.push(
      `| sequences | ${rows.join(' | ')} |`,
      `| --- |${rows.map(() => ' ---: |').join('')}`,
    );
    for (const { steps = [], ...entry } of measured) {
      const cells = rows.map((count) => {
        const step = steps.find((other) => other.rows === count);
        return step ? `${Math.round(step.tokensPerSecond)} (${step.stepMs.toFixed(1)})` : '';
      });
      lines.push(`| ${nameOf({ ...entry, shape: '' })} | ${cells.join(' | ')} |`);
    }
  }
  return `${lines.join('\n')}\n`;
}

/** Names a run, in a few words. */
export function nameOf({
  device,
  attention,
  graphCapture,
  shape,
  precision,
  isCheck,
}: Omit<Entry, 'check'>): string {
  const captured = graphCapture ? 'captured' : undefined;
  const parts = [device, attention, captured, isCheck ? 'check' : shape, precision];
  return parts.filter((part) => part !== undefined && part !== '').join(' ');
}
