import { useState } from 'preact/hooks';
import { Icon } from './icon.tsx';
import { notify } from './notices.tsx';

const CONFIRMED_MS = 1500;

interface CopyButtonProps {
  readonly text: string | (() => string);
  readonly label: string;
}

export function CopyButton({ text, label }: CopyButtonProps) {
  const [isDone, setDone] = useState(false);
  const copy = async () => {
    await copyText(typeof text === 'string' ? text : text());
    setDone(true);
    setTimeout(() => setDone(false), CONFIRMED_MS);
  };
  return (
    <button
      type="button"
      class="quiet"
      onClick={() => void copy()}
      aria-label={isDone ? 'Copied' : label}
      title={label}
    >
      <Icon name={isDone ? 'check' : 'copy'} />
    </button>
  );
}

/** Browsers allow it on pages with TLS and on those of this machine. */
export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    notify('The browser does not allow this page to copy.', true);
  }
}
