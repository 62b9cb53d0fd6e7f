import { useLayoutEffect, useRef } from 'preact/hooks';

interface TitleFieldProps {
  readonly title: string;
  /** Called once, with the title as it is to be. */
  readonly onDone: (title: string) => void;
}

/** A chat's title as it is changed in its place: Enter keeps it, Escape does not. */
export function TitleField({ title, onDone }: TitleFieldProps) {
  const field = useRef<HTMLInputElement>(null);
  const isOver = useRef(false);
  useLayoutEffect(() => {
    field.current?.focus();
    field.current?.select();
  }, []);
  const end = (text: string) => {
    if (isOver.current) return;
    isOver.current = true;
    onDone(text.trim() || title);
  };
  return (
    <input
      ref={field}
      class="title-field"
      aria-label="Title"
      defaultValue={title}
      onBlur={(event) => end(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key === 'Enter') end(event.currentTarget.value);
        else if (event.key === 'Escape') end(title);
        else return;
        event.preventDefault();
      }}
    />
  );
}
