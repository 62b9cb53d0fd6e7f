import './completion.css';
import { useState } from 'preact/hooks';
import { Icon } from '../../components/icon.tsx';
import { ModelSelect } from '../../components/model-select.tsx';
import { Alternatives } from './alternatives.tsx';
import { Editor } from './editor.tsx';
import { fillPrompt, useFillTokens } from './fill-in.ts';
import { cut, edited, type MarkedToken, tokenAt } from './marked-text.ts';
import { OutcomeLine } from './outcome-line.tsx';
import { DEFAULT_PAD, toFields } from './pad-settings.ts';
import { SettingsForm } from './settings-form.tsx';
import { TokensPanel } from './tokens-panel.tsx';
import { usePad } from './use-pad.ts';

/** Raw text, which a model goes on with: nothing is added to it. */
export default function CompletionView() {
  const pad = usePad();
  const [model, setModel] = useState<string | null>(null);
  const [settings, setSettings] = useState(DEFAULT_PAD);
  const [cursor, setCursor] = useState(0);
  const fill = useFillTokens(model);
  const { marked, isRunning } = pad;
  const token = tokenAt(marked, cursor);
  const fields = { model, ...toFields(settings) };

  const generate = () =>
    pad.run({ body: { ...fields, echo: settings.echo }, prompt: marked.text, base: marked });
  const score = () =>
    pad.run({ body: { ...fields, max_tokens: 0, echo: true }, prompt: marked.text, base: marked });
  const fillIn = () => {
    if (fill === null || fill === 'unknown') return;
    const base = cut(marked, cursor);
    const tail = marked.text.slice(cursor);
    const prompt = fillPrompt(fill, base.text, tail);
    pad.run({ body: { ...fields, add_special_tokens: false }, prompt, base, tail });
  };
  const goOn = ({ start }: MarkedToken, text: string) => {
    const kept = cut(marked, start);
    const base = { ...edited(kept, kept.text + text), tokens: kept.tokens };
    pad.run({ body: fields, prompt: base.text, base });
  };

  return (
    <div
      class="pad"
      onKeyDown={(event) => {
        if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && !isRunning) generate();
        else if (event.key === 'Escape' && isRunning) pad.stop();
        else return;
        event.preventDefault();
      }}
    >
      <div class="pad-main">
        <header class="pad-head">
          <h1>Completion</h1>
          <ModelSelect value={model} onChange={setModel} />
        </header>
        <Editor
          marked={marked}
          isRunning={isRunning}
          onEdit={pad.edit}
          onCursor={setCursor}
          chosen={token}
        />
        <OutcomeLine outcome={pad.outcome} />
        <div class="pad-actions">
          {isRunning ? (
            <button type="button" class="primary" onClick={pad.stop}>
              <Icon name="stop" /> Stop
            </button>
          ) : (
            <button type="button" class="primary" onClick={generate} title="Ctrl+Enter">
              <Icon name="play" /> Generate
            </button>
          )}
          <button
            type="button"
            disabled={isRunning || fill === null || fill === 'unknown'}
            title="What belongs where the cursor is"
            onClick={fillIn}
          >
            Fill in
          </button>
          <button
            type="button"
            disabled={isRunning || marked.text === ''}
            title="How likely each token of the text is"
            onClick={score}
          >
            Score
          </button>
          <button type="button" class="quiet" disabled={!pad.canUndo} onClick={pad.undo}>
            <Icon name="retry" /> Undo
          </button>
          <button
            type="button"
            class="quiet"
            disabled={isRunning || marked.text === ''}
            onClick={() => pad.edit('')}
          >
            Clear
          </button>
        </div>
        {fill === null && (
          <details class="soft small">
            <summary>Why is Fill in off?</summary>
            It needs a model with special tokens for it, such as Qwen-Coder or StarCoder. This model
            has none, so the API refuses <code>suffix</code> too.
          </details>
        )}
        <TokensPanel model={model} text={marked.text} />
      </div>
      <aside class="pad-side" aria-label="Settings and alternatives">
        <SettingsForm settings={settings} onChange={setSettings} />
        <Alternatives token={token} isRunning={isRunning} onChoose={goOn} />
      </aside>
    </div>
  );
}
