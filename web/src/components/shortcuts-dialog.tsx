import { Dialog } from './dialog.tsx';

/** By view: keys, and what they do. */
const SHORTCUTS: readonly (readonly [string, readonly (readonly [string, string])[]])[] = [
  [
    'Everywhere',
    [
      ['?', 'this list'],
      ['Esc', 'close what is open, or stop what is being written'],
    ],
  ],
  [
    'Chat',
    [
      ['Enter', 'send'],
      ['Shift Enter', 'new line'],
      ['Ctrl K', 'search all chats'],
      ['Alt N', 'new chat'],
      ['Ctrl Enter', 'save an edited message'],
    ],
  ],
  [
    'Completion',
    [
      ['Ctrl Enter', 'generate'],
      ['Esc', 'stop'],
    ],
  ],
  [
    'Batch',
    [
      ['Space', 'pause and resume'],
      ['Esc', 'let a held picture run again'],
      ['← →', 'step by step; with Shift, by half of the picture'],
      ['↑ ↓', 'from row to row'],
      ['+ −', 'zoom (also Ctrl and the wheel)'],
      ['0', 'show all that is kept'],
      ['Home End', 'first and last step'],
    ],
  ],
];

export function ShortcutsDialog({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose} isWide>
      <div class="shortcuts">
        {SHORTCUTS.map(([view, keys]) => (
          <section key={view}>
            <h3>{view}</h3>
            <dl>
              {keys.map(([key, what]) => (
                <div key={key}>
                  <dt>
                    {key.split(' ').map((each) => (
                      <kbd key={each}>{each}</kbd>
                    ))}
                  </dt>
                  <dd>{what}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
