import { signal } from '@preact/signals';

interface Notice {
  readonly id: number;
  readonly text: string;
  readonly isBad: boolean;
}

const SHOWN_MS = 5000;
const notices = signal<readonly Notice[]>([]);
let nextId = 0;

/** Tells something for a few seconds, at the edge of the page. */
export function notify(text: string, isBad = false): void {
  const id = nextId++;
  notices.value = [...notices.value, { id, text, isBad }];
  setTimeout(() => {
    notices.value = notices.value.filter((notice) => notice.id !== id);
  }, SHOWN_MS);
}

export function Notices() {
  return (
    <div class="notices" role="status">
      {notices.value.map(({ id, text, isBad }) => (
        <p key={id} class={isBad ? 'notice bad' : 'notice'}>
          {text}
        </p>
      ))}
    </div>
  );
}
