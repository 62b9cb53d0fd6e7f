import { type ComponentType, createElement } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { notify } from './notices.tsx';

/** A part of a view whose code the browser loads when it is first shown. */
export function lazy<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
): ComponentType<Props> {
  let loaded: ComponentType<Props> | undefined;
  return function Lazy(props: Props) {
    const [, setLoaded] = useState(false);
    useEffect(() => {
      if (loaded !== undefined) return;
      load().then(
        (component) => {
          loaded = component;
          setLoaded(true);
        },
        () => notify('A part of the page could not be loaded: the server does not answer.', true),
      );
    }, []);
    return loaded === undefined ? null : createElement(loaded, props);
  };
}
