import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { CopyButton } from './copy-button.tsx';

type Highlight = (code: string, language: string) => ComponentChildren;

/** Its grammars are loaded with the first code that is shown. */
let highlight: Highlight | undefined;

export function CodeBlock({
  code,
  language,
}: {
  readonly code: string;
  readonly language: string;
}) {
  const name = /^[\w+#.-]*/.exec(language)?.[0].toLowerCase() ?? '';
  const [, setLoaded] = useState(highlight !== undefined);
  useEffect(() => {
    if (highlight !== undefined) return;
    void import('./highlight.tsx').then((module) => {
      ({ highlight } = module);
      setLoaded(true);
    });
  }, []);
  return (
    <figure class="code-block">
      <figcaption>
        <span>{name || 'text'}</span>
        <CopyButton text={code} label="Copy code" />
      </figcaption>
      {/* Wide code is scrolled by keyboard too. */}
      <pre tabIndex={0}>
        <code>{highlight?.(code, name) ?? code}</code>
      </pre>
    </figure>
  );
}
