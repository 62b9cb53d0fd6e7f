import { useEffect, useState } from 'preact/hooks';
import { reasonOf } from '../../api/connection.ts';
import { tokenize, type Tokenized } from '../../api/completions.ts';
import { formatNumber } from '../../format.ts';
import { visible } from './probability.ts';

interface TokensPanelProps {
  readonly model: string | null;
  readonly text: string;
}

const FORMS = ['text', 'ids', 'bytes', 'spelling'] as const;
type Form = (typeof FORMS)[number];

/** Characters that are looked at while somebody types, and tokens that a page shows with ease. */
const MAX_CHARACTERS = 20_000;
const MAX_SHOWN = 2000;
const PAUSE_MS = 250;

/** How the model's tokenizer takes the text apart. */
export function TokensPanel({ model, text }: TokensPanelProps) {
  const [form, setForm] = useState<Form>('text');
  const [isOpen, setOpen] = useState(false);
  const result = useTokens(isOpen ? text.slice(0, MAX_CHARACTERS) : null, model);
  return (
    <details class="pad-tokens card" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        Tokens
        {isOpen && result.found !== null && (
          <span class="soft">
            {' '}
            {summaryOf(result.found, Math.min(text.length, MAX_CHARACTERS))}
          </span>
        )}
      </summary>
      <div class="segments" role="radiogroup" aria-label="Show tokens as">
        {FORMS.map((each) => (
          <label key={each}>
            <input
              type="radio"
              name="token-form"
              checked={form === each}
              onChange={() => setForm(each)}
            />
            <span>{each}</span>
          </label>
        ))}
      </div>
      {result.error !== null && <p class="bad-text small">{result.error}</p>}
      {result.found !== null && <TokenList found={result.found} form={form} />}
      {text.length > MAX_CHARACTERS && (
        <p class="soft small">Of the first {formatNumber(MAX_CHARACTERS)} characters.</p>
      )}
    </details>
  );
}

function TokenList({ found, form }: { readonly found: Tokenized; readonly form: Form }) {
  const { tokens } = found;
  return (
    <>
      <ol class={`token-list ${form}`} aria-label={`Tokens as ${form}`}>
        {tokens.slice(0, MAX_SHOWN).map((id, index) => (
          <li key={index} title={`${index}: id ${id}, ${hexOf(found, index)}`}>
            {written(found, index, form)}
          </li>
        ))}
      </ol>
      {tokens.length > MAX_SHOWN && (
        <p class="soft small">and {formatNumber(tokens.length - MAX_SHOWN)} more</p>
      )}
    </>
  );
}

function written(found: Tokenized, index: number, form: Form): string {
  switch (form) {
    case 'ids':
      return String(found.tokens[index]);
    case 'bytes':
      return hexOf(found, index);
    case 'spelling':
      return found.token_strs?.[index] ?? '';
    case 'text':
      return visible(textOf(found.token_bytes?.[index] ?? []));
  }
}

function textOf(bytes: readonly number[]): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(
      Uint8Array.from(bytes),
    );
  } catch {
    // A part of a character.
    return bytes.map((byte) => `‹${byte.toString(16).padStart(2, '0')}›`).join('');
  }
}

function hexOf({ token_bytes: all }: Tokenized, index: number): string {
  return (all?.[index] ?? []).map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
}

function summaryOf({ count, max_model_len: most }: Tokenized, numCharacters: number): string {
  const rate = count > 0 ? `, ${formatNumber(numCharacters / count)} characters each` : '';
  return `${formatNumber(count)} of ${formatNumber(most)}${rate}`;
}

interface TokensResult {
  readonly found: Tokenized | null;
  readonly error: string | null;
}

/** Asks again a moment after the last change. @param text null asks nothing */
function useTokens(text: string | null, model: string | null): TokensResult {
  const [result, setResult] = useState<TokensResult>({ found: null, error: null });
  useEffect(() => {
    if (text === null) return;
    const leaving = new AbortController();
    const timer = setTimeout(() => {
      tokenize({ model, prompt: text, spells: true, addSpecial: true }, leaving.signal).then(
        (found) => setResult({ found, error: null }),
        (error: unknown) => {
          if (leaving.signal.aborted) return;
          setResult({ found: null, error: reasonOf(error) });
        },
      );
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [text, model]);
  return result;
}
