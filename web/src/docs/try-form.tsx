import { useEffect, useRef, useState } from 'preact/hooks';
import { copyText } from '../components/copy-text.ts';
import { Answer } from './answer.tsx';
import { exchange, type Exchange, NOTHING_YET } from './exchange.ts';
import { firstBody, type Operation } from './operations.ts';
import { addressOf, curlOf, type FormValues, initOf, jsonFault } from './request-parts.ts';
import { UploadFields } from './upload-fields.tsx';

interface TryFormProps {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

/** Form for an operation, filled in with what works, and its answer. */
export function TryForm({ method, path, operation }: TryFormProps) {
  const { parameters = [], requestBody } = operation;
  const json = requestBody?.content['application/json'];
  const upload = requestBody?.content['multipart/form-data'];
  const [values, setValues] = useState<FormValues>(() => ({
    parameters: {},
    text: json === undefined ? null : firstBody(json),
    form: null,
  }));
  const [shown, setShown] = useState<Exchange | null>(null);
  const [running, setRunning] = useState<AbortController | null>(null);
  const current = useRef(running);
  current.current = running;
  useEffect(() => () => current.current?.abort(), []);

  const fault = values.text === null ? null : jsonFault(values.text);
  const address = addressOf(path, parameters, values);
  const send = async () => {
    const controller = new AbortController();
    setRunning(controller);
    setShown(NOTHING_YET);
    await exchange(address, { ...initOf(method, values), signal: controller.signal }, setShown);
    setRunning(null);
  };

  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (running === null && fault === null) void send();
      }}
    >
      {parameters.map(({ name, required }) => (
        <label key={name}>
          {name}
          <input
            required={required}
            value={values.parameters[name] ?? ''}
            onInput={(event) =>
              setValues({
                ...values,
                parameters: { ...values.parameters, [name]: event.currentTarget.value },
              })
            }
          />
        </label>
      ))}
      {values.text !== null && (
        <label>
          Body
          <textarea
            spellcheck={false}
            rows={Math.min(18, Math.max(3, values.text.split('\n').length))}
            value={values.text}
            aria-invalid={fault !== null}
            onInput={(event) => setValues({ ...values, text: event.currentTarget.value })}
            onKeyDown={(event) => {
              if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
              event.preventDefault();
              event.currentTarget.form?.requestSubmit();
            }}
          />
        </label>
      )}
      {fault !== null && (
        <p class="fault" role="alert">
          This is not JSON: {fault}
        </p>
      )}
      {upload !== undefined && <UploadFields onChange={(form) => setValues({ ...values, form })} />}
      <p class="try-actions">
        <button class="send" disabled={running !== null || fault !== null}>
          Send
        </button>
        {running !== null && (
          <button type="button" onClick={() => running.abort()}>
            Stop
          </button>
        )}
        <button type="button" onClick={() => void copyText(curlOf(method, address, values))}>
          Copy as curl
        </button>
      </p>
      {shown !== null && <Answer exchange={shown} />}
    </form>
  );
}
