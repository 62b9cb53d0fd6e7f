import { useState } from 'preact/hooks';
import { findOperation, type Operation } from './operations.ts';
import { TryForm } from './try-form.tsx';

interface TryItProps {
  /** In lower case. */
  readonly method: string;
  readonly path: string;
}

/** A button, and behind it a form that sends the operation's request. */
export function TryIt({ method, path }: TryItProps) {
  const [operation, setOperation] = useState<Operation | null>(null);
  const [failure, setFailure] = useState<string | null>(null);
  return (
    <details
      class="try-it"
      onToggle={(event) => {
        if (!event.currentTarget.open || operation !== null) return;
        setFailure(null);
        findOperation(method, path).then(setOperation, (error: unknown) =>
          setFailure(String(error)),
        );
      }}
    >
      <summary>
        Try it
        <span class="hidden-text">
          {method.toUpperCase()} {path}
        </span>
      </summary>
      {failure !== null && <p role="alert">{failure}</p>}
      {operation !== null && <TryForm method={method} path={path} operation={operation} />}
    </details>
  );
}
