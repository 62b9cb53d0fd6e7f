/** The report as a file, as `chairlift bench` writes it. */
import type { ReportContext } from '../../../../src/bench/report-json.ts';
import { ROOT } from '../../root.ts';
import type { BenchResult } from './run-load.ts';

/** The code that writes it is loaded when somebody wants it. */
export async function saveHtml(result: BenchResult): Promise<void> {
  const { toHtml } = await import('../../../../src/bench/report-html.ts');
  save(toHtml([result.run], contextOf(result)), 'text/html', 'load-test.html');
}

export async function saveJson(result: BenchResult): Promise<void> {
  const { toJson } = await import('../../../../src/bench/report-json.ts');
  const text = JSON.stringify(toJson(result.run, contextOf(result)));
  save(text, 'application/json', 'load-test.json');
}

function contextOf({ plan, model }: BenchResult): ReportContext {
  return {
    url: location.origin + ROOT,
    backend: 'openai',
    model,
    numPrompts: plan.requests,
    maxConcurrency: plan.concurrency,
    seed: plan.seed,
  };
}

function save(text: string, type: string, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  // The browser has begun to read it by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
