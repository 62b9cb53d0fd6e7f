import type { ModelStatus, ServerStatus } from '../../api/status.ts';
import { formatBytes, formatNumber, formatShare } from '../../format.ts';
import { ModelButton } from './model-button.tsx';

interface ModelsProps {
  readonly status: ServerStatus;
  readonly onChange: () => void;
}

/** The models that there are, what they are at, and what the operator can do with them. */
export function Models({ status, onChange }: ModelsProps) {
  const { models, model_control: control } = status;
  const canChange = control === 'explicit' || control === 'auto';
  return (
    <section aria-labelledby="models">
      <h2 id="models">Models</h2>
      <ul class="models">
        {models.map((model) => (
          <li key={model.id} class="card">
            <header>
              <h3>{model.id}</h3>
              <StateBadge model={model} />
              {canChange && <ModelButton model={model} onChange={onChange} />}
            </header>
            {model.reason !== null && <p class="bad-text small">{model.reason}</p>}
            <dl>
              {factsOf(model).map(([label, value]) => (
                <div key={label}>
                  <dt>{label}</dt>
                  <dd>{value}</dd>
                </div>
              ))}
            </dl>
          </li>
        ))}
      </ul>
      {!canChange && (
        <p class="soft small">
          Models are loaded and unloaded from here with <code>--model-control explicit</code> or{' '}
          <code>auto</code>; this server has <code>{control}</code>.
        </p>
      )}
    </section>
  );
}

function StateBadge({ model: { state, engine_state: engine } }: { readonly model: ModelStatus }) {
  // An engine that recovers has a model that is loaded.
  const shown = state === 'ready' ? (engine ?? state) : state;
  const look = shown === 'ready' ? 'badge good' : shown === 'failed' ? 'badge bad' : 'badge';
  return <span class={look}>{shown}</span>;
}

function factsOf(model: ModelStatus): (readonly [string, string])[] {
  const { engine, rates, prefix_cache: prefixes, drafts } = model;
  const facts: (readonly [string, string | null])[] = [
    ['Kind', model.kind === undefined || model.kind === 'text' ? null : model.kind],
    ['Family', model.family ?? null],
    ['Parameters', model.parameters ? shortCount(model.parameters) : null],
    ['Precision', model.precision ?? null],
    ['Device', engine ? `${engine.device}, ${counted(engine.threads, 'thread')}` : null],
    ['Context', model.max_model_len ? `${formatNumber(model.max_model_len)} tokens` : null],
    ['Memory', model.memory_bytes > 0 ? formatBytes(model.memory_bytes) : null],
    [
      'KV cache',
      engine
        ? `${formatShare(model.kv_cache_usage ?? 0)} of ${formatBytes(engine.kv_cache_bytes)}`
        : null,
    ],
    [
      'Running',
      model.running === undefined
        ? null
        : `${model.running} of ${engine?.max_num_seqs ?? '?'} requests`,
    ],
    ['Waiting', model.waiting === undefined ? null : formatNumber(model.waiting)],
    ['Tokens', rates ? `${formatNumber(rates.generated_tokens)}/s` : null],
    [
      'Prefix hits',
      prefixes && prefixes.queries > 0 ? shareOf(prefixes.hits, prefixes.queries) : null,
    ],
    [
      'Drafts accepted',
      drafts && drafts.tokens > 0 ? shareOf(drafts.accepted, drafts.tokens) : null,
    ],
    ['Preemptions', model.preemptions ? formatNumber(model.preemptions) : null],
    ['Crashes', model.crashes === undefined ? null : formatNumber(model.crashes)],
  ];
  return facts.flatMap(([label, value]) => (value === null ? [] : [[label, value] as const]));
}

function shareOf(part: number, all: number): string {
  return formatShare(part / all);
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

/** Such as `135M` and `1.5B`. */
function shortCount(count: number): string {
  return count >= 1e9 ? `${formatNumber(count / 1e9)}B` : `${formatNumber(count / 1e6)}M`;
}
