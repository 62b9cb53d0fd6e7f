import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { MathToken } from './math-syntax.ts';

type ToMathml = (latex: string, isBlock: boolean) => ComponentChildren;

/** Converter of LaTeX, which is loaded with the first formula. */
let toMathml: ToMathml | undefined;

/** A formula; as it is written where it can't be shown otherwise. */
export function Formula({ token }: { readonly token: MathToken }) {
  const { text, isBlock, raw } = token;
  const [isLoaded, setLoaded] = useState(toMathml !== undefined);
  useEffect(() => {
    if (toMathml !== undefined) return;
    void import('./mathml.ts').then((module) => {
      ({ toMathml } = module);
      setLoaded(true);
    });
  }, []);
  const shown = useMemo(() => toMathml?.(text, isBlock) ?? null, [text, isBlock, isLoaded]);
  const content = shown ?? <code class="math-source">{raw.trim()}</code>;
  if (isBlock) {
    // Wide ones are scrolled by keyboard too.
    return (
      <span class="math-block" tabIndex={0} role="group" aria-label="Formula">
        {content}
      </span>
    );
  }
  return <span class="math-inline">{content}</span>;
}
