// A menu of the versions beside this one, where there are any: `make docs-publish` writes their list.
(() => {
  const root = document.documentElement.dataset.content_root;
  const list = document.createElement("script");
  list.src = `${root}../versions.js`;
  list.onload = () => {
    const menu = document.createElement("select");
    menu.className = "versions";
    menu.ariaLabel = "Version";
    for (const version of window.versions) {
      const here = new URL(`${root}../${version}/index.html`, location.href);
      const own = here.pathname === new URL(`${root}index.html`, location.href).pathname;
      menu.add(new Option(version, here.href, own, own));
    }
    menu.onchange = () => location.assign(menu.value);
    document.querySelector(".sidebar-brand")?.after(menu);
  };
  document.head.append(list);
})();
