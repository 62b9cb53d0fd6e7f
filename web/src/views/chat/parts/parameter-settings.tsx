import { useEffect, useState } from 'preact/hooks';
import type { ChatSession } from '../model/chat-session.ts';
import { loadParameters, MAIN_PARAMETERS, type Parameter } from '../model/parameters.ts';
import { ParameterField } from './parameter-field.tsx';

/** Every parameter that the server takes. What is left empty is not sent: then its default holds. */
export function ParameterSettings({ session }: { readonly session: ChatSession }) {
  const [all, setAll] = useState<readonly Parameter[]>([]);
  useEffect(() => {
    loadParameters().then(setAll, () => {});
  }, []);
  const { parameters } = session.chat.value.settings;
  const field = (parameter: Parameter) => (
    <ParameterField
      key={parameter.name}
      parameter={parameter}
      value={parameters[parameter.name]}
      onChange={(value) => {
        const { [parameter.name]: _, ...rest } = session.chat.peek().settings.parameters;
        const changed = value === undefined ? rest : { ...rest, [parameter.name]: value };
        session.setSettings({ parameters: changed });
      }}
    />
  );
  const isMain = ({ name }: Parameter) => MAIN_PARAMETERS.includes(name);
  const numSet = Object.keys(parameters).length;
  return (
    <>
      <div class="settings-heading">
        <h3>Parameters</h3>
        {numSet > 0 && (
          <button class="quiet" onClick={() => session.setSettings({ parameters: {} })}>
            Reset {numSet}
          </button>
        )}
      </div>
      {all.filter(isMain).map(field)}
      <details class="more">
        <summary>All others</summary>
        {all.filter((parameter) => !isMain(parameter)).map(field)}
      </details>
    </>
  );
}
