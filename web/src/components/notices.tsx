import { signal } from '@preact/signals';
import { Icon } from './icon.tsx';

export interface NoticeAction {
  readonly label: string;
  readonly onClick: () => void;
}

interface Notice {
  readonly id: number;
  readonly text: string;
  readonly isBad: boolean;
  readonly action: NoticeAction | null;
}

const SHOWN_MS = 5000;
/** Time to read what can be done about it, and to do it. */
const ACTION_MS = 15_000;
const notices = signal<readonly Notice[]>([]);
let nextId = 0;

/** Says something for a few seconds, at the top of the page. */
export function notify(text: string, isBad = false, action: NoticeAction | null = null): void {
  const id = nextId++;
  notices.value = [...notices.value, { id, text, isBad, action }];
  setTimeout(() => remove(id), action === null ? SHOWN_MS : ACTION_MS);
}

function remove(id: number): void {
  notices.value = notices.value.filter((notice) => notice.id !== id);
}

export function Notices() {
  return (
    <div class="notices" role="status">
      {notices.value.map(({ id, text, isBad, action }) => (
        <div key={id} class={isBad ? 'notice bad' : 'notice'}>
          <p>{text}</p>
          {action !== null && (
            <button
              type="button"
              class="quiet"
              onClick={() => {
                remove(id);
                action.onClick();
              }}
            >
              {action.label}
            </button>
          )}
          <button type="button" class="quiet" aria-label="Dismiss" onClick={() => remove(id)}>
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  );
}
