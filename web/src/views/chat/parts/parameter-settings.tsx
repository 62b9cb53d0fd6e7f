import { useEffect, useState } from 'preact/hooks';
import { chatModels, defaultChatModel } from '../../../api/models.ts';
import type { ChatSession } from '../model/chat-session.ts';
import { defaultOf, loadParameters, MAIN_PARAMETERS, type Parameter } from '../model/parameters.ts';
import { ParameterField } from './parameter-field.tsx';

/** Every parameter that the server takes. What is left empty is not sent: then its default holds. */
export function ParameterSettings({ session }: { readonly session: ChatSession }) {
  const [all, setAll] = useState<readonly Parameter[]>([]);
  useEffect(() => {
    loadParameters().then(setAll, () => {});
  }, []);
  const { model, parameters } = session.chat.value.settings;
  const picked =
    model === null ? defaultChatModel.value : chatModels.value.find(({ id }) => id === model);
  const field = (parameter: Parameter) => (
    <ParameterField
      key={parameter.name}
      parameter={parameter}
      value={parameters[parameter.name]}
      byDefault={defaultOf(parameter.name, picked)}
      onFault={(fault) => session.setFault(parameter.name, fault)}
      onChange={(value) => {
        const { [parameter.name]: _, ...rest } = session.chat.peek().settings.parameters;
        const changed = value === undefined ? rest : { ...rest, [parameter.name]: value };
        session.setSettings({ parameters: changed });
      }}
    />
  );
  const isMain = ({ name }: Parameter) => MAIN_PARAMETERS.includes(name);
  const numSet = Object.keys(parameters).length;
  const others = all.filter((parameter) => !isMain(parameter));
  const numOthersSet = others.filter(({ name }) => parameters[name] !== undefined).length;
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
        <summary>All others{numOthersSet > 0 ? ` (${numOthersSet} set)` : ''}</summary>
        {others.map(field)}
      </details>
    </>
  );
}
