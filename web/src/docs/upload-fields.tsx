import { useRef } from 'preact/hooks';

/** A file and what it is for. */
export function UploadFields({ onChange }: { readonly onChange: (form: FormData) => void }) {
  const purpose = useRef<HTMLInputElement>(null);
  const file = useRef<HTMLInputElement>(null);
  const tell = () => {
    const form = new FormData();
    form.set('purpose', purpose.current?.value ?? '');
    const [chosen] = file.current?.files ?? [];
    if (chosen !== undefined) form.set('file', chosen);
    onChange(form);
  };
  return (
    <>
      <label>
        purpose
        <input ref={purpose} defaultValue="batch" onInput={tell} />
      </label>
      <label>
        file
        <input ref={file} type="file" required onChange={tell} />
      </label>
    </>
  );
}
