import { useEffect, useRef, useState } from 'preact/hooks';

const MAX_ROWS = 16;

interface MessageEditorProps {
  readonly text: string;
  readonly action: string;
  readonly onCancel: () => void;
  readonly onSave: (text: string) => void;
}

export function MessageEditor({ text, action, onCancel, onSave }: MessageEditorProps) {
  const [value, setValue] = useState(text);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus(), []);
  return (
    <form
      class="message-editor"
      onSubmit={(event) => {
        event.preventDefault();
        onSave(value);
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return;
        event.preventDefault();
        onCancel();
      }}
    >
      <textarea
        ref={field}
        aria-label="Message"
        rows={Math.min(MAX_ROWS, value.split('\n').length + 1)}
        value={value}
        onInput={(event) => setValue(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
          event.preventDefault();
          onSave(value);
        }}
      />
      <div class="actions">
        <button type="button" class="quiet" onClick={onCancel}>
          Cancel
        </button>
        <button class="primary">{action}</button>
      </div>
    </form>
  );
}
