import { useEffect, useState } from 'preact/hooks';
import { readSettings, type Setting } from '../../api/status.ts';

/** Each flag, its value in force, and who set it. */
export function Configuration() {
  const [settings, setSettings] = useState<readonly Setting[] | null>(null);
  const [wanted, setWanted] = useState('');
  const [hasDefaults, setHasDefaults] = useState(false);
  useEffect(() => {
    const leaving = new AbortController();
    // If it fails, so does the status, which says why.
    readSettings(leaving.signal).then(setSettings, () => {});
    return () => leaving.abort();
  }, []);
  if (settings === null) return null;
  const isWanted = (setting: Setting) =>
    wanted === ''
      ? hasDefaults || setting.source !== 'default'
      : `${setting.flag} ${setting.meaning}`.toLowerCase().includes(wanted.toLowerCase());
  const shown = settings.filter(isWanted);
  return (
    <section aria-labelledby="configuration">
      <h2 id="configuration">Configuration</h2>
      <div class="configuration-tools">
        <input
          type="search"
          placeholder="Find a flag"
          aria-label="Find a flag"
          value={wanted}
          onInput={(event) => setWanted(event.currentTarget.value)}
        />
        <label class="check">
          <input
            type="checkbox"
            checked={hasDefaults}
            onChange={(event) => setHasDefaults(event.currentTarget.checked)}
          />
          Defaults too
        </label>
      </div>
      {shown.length === 0 ? (
        <p class="soft">
          {wanted === '' ? 'Every flag has its default.' : 'There is no such flag.'}
        </p>
      ) : (
        <SettingTable settings={shown} />
      )}
    </section>
  );
}

function SettingTable({ settings }: { readonly settings: readonly Setting[] }) {
  return (
    <div class="table" tabIndex={0} role="region" aria-label="Flags">
      <table class="settings">
        <thead>
          <tr>
            <th>Flag</th>
            <th>Value</th>
            <th>From</th>
            <th>Meaning</th>
          </tr>
        </thead>
        <tbody>
          {settings.map((setting) => (
            <tr key={setting.flag}>
              <th scope="row">
                <code title={setting.environment}>{setting.flag}</code>
              </th>
              <td>
                <Value setting={setting} />
              </td>
              <td>
                <span class={setting.source === 'default' ? 'badge' : 'badge set'}>
                  {setting.source}
                </span>
              </td>
              <td class="soft small">{setting.meaning}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Value({ setting }: { readonly setting: Setting }) {
  const { value, is_set: isSet, is_secret: isSecret, default: byDefault } = setting;
  if (!isSet) return <span class="soft">{byDefault ?? 'not set'}</span>;
  if (isSecret) return <span class="soft">hidden</span>;
  return <code>{typeof value === 'string' ? value : JSON.stringify(value)}</code>;
}
