import { useState } from 'preact/hooks';
import { copyText } from './copy-text.ts';
import { Icon } from './icon.tsx';

const CONFIRMED_MS = 1500;

interface CopyButtonProps {
  readonly text: string | (() => string);
  readonly label: string;
}

export function CopyButton({ text, label }: CopyButtonProps) {
  const [isDone, setDone] = useState(false);
  const copy = async () => {
    if (!(await copyText(typeof text === 'string' ? text : text()))) return;
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
