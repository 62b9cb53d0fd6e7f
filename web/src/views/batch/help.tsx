import { signal } from '@preact/signals';
import { readSetting, writeSetting } from '../../settings.ts';
import { Legend } from './legend.tsx';
import type { Mode } from './viewport.ts';

const SETTING = 'batch-help';
const ID = 'batch-help';

/** Open until it is closed for the first time. */
const isOpen = signal(readSetting(SETTING) !== 'closed');

/** The picture in a sentence, and the way to the rest. */
export function HelpLine({ mode }: { readonly mode: Mode }) {
  return (
    <p class="batch-line soft">
      {mode === 'requests'
        ? 'Each bar is a request: an outline while it waits, dark while its prompt is computed, light while it writes. All of them get their next token in the same step.'
        : 'Each row is a slot, a place for a request in the KV cache; each column is a step, in which all of them get their next token.'}{' '}
      <button
        type="button"
        class="link"
        onClick={() => {
          isOpen.value = true;
          // Once it is open.
          requestAnimationFrame(() => {
            const summary = document.querySelector<HTMLElement>(`#${ID} summary`);
            summary?.focus();
            summary?.scrollIntoView({ block: 'start' });
          });
        }}
      >
        Explain the picture
      </button>
    </p>
  );
}

/** Explains the picture. */
export function Help({ mode }: { readonly mode: Mode }) {
  return (
    <details
      id={ID}
      class="batch-help"
      open={isOpen.value}
      onToggle={(event) => {
        const { open } = event.currentTarget;
        if (open === isOpen.peek()) return;
        isOpen.value = open;
        writeSetting(SETTING, open ? null : 'closed');
      }}
    >
      <summary>What am I looking at?</summary>
      <Legend mode={mode} />
      <p>
        The server computes one token for <b>all running requests together</b>, in a step of some
        milliseconds; then it does so again. That is continuous batching: a request joins as soon as
        there is a place, and leaves with its last token, while the others continue. A step for many
        requests takes hardly longer than one for a single request, so together they get far more
        tokens per second.
      </p>
      <p>
        {mode === 'requests'
          ? 'Each bar is a request, in a color of its own, from its arrival to its last token.'
          : 'Requests always fill the lowest slots, so they move down when others end. Below them are the texts of ended requests, which are kept because the next prompt may begin in the same way.'}{' '}
        Above: how long each step took. Below: how full the KV cache is, which holds what the model
        has computed for each text. Time goes to the right; long idle times are cut out.
      </p>
      <p>
        Point at anything to see what it is. A click holds the picture; drag it, or the strip above
        it, to go back in time.
      </p>
    </details>
  );
}
