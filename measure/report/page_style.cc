#include "weft/measure/report/page_style.h"

namespace weft::measure {

// No angle brackets and no ampersands: the page is XML, too.
std::string_view page_style() {
  return R"(
:root{--paper:#faf7f1;--sheet:#fffdf9;--ink:#26231e;--muted:#655e53;--line:#e2dbcd;--dye:#2f4f86;
--serif:"Iowan Old Style","Palatino Linotype",Palatino,"URW Palladio L",P052,Georgia,serif;
--sans:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue","DejaVu Sans",sans-serif}
@media (prefers-color-scheme:dark){
:root{--paper:#14161b;--sheet:#1b1e25;--ink:#e9e3d7;--muted:#a79f91;--line:#2e323b;--dye:#97b5ea}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0 auto;max-width:80rem;padding:2.5rem clamp(1rem,3vw,1.5rem) 4rem;background:var(--paper);color:var(--ink);font:1rem/1.55 var(--sans);overflow-wrap:break-word}
h1,h2,h3{font-family:var(--serif);font-weight:600;line-height:1.25;margin:0;text-wrap:balance}
h1{font-size:2rem}
h2{font-size:1.35rem;margin:2.75rem 0 .9rem}
h3{font-size:1.1rem;margin-bottom:.9rem}
header{padding-bottom:1.1rem;border-bottom:2px solid var(--dye)}
header p{margin:.6rem 0 0;max-width:65ch;color:var(--muted);font-size:1.08rem}
.findings{margin:0;padding:0;list-style:none}
.findings li{padding:.55rem 0 .55rem 1rem;border-left:3px solid var(--dye);max-width:72ch}
.findings li+li{margin-top:.6rem}
figure,.table,dl{margin:0 0 1.5rem;padding:1.15rem clamp(.8rem,2.5vw,1.25rem);background:var(--sheet);border:1px solid var(--line);border-radius:.5rem}
.weft-chart{display:block;width:100%;height:auto}
.narrow{display:none}
figcaption,.note{margin:.9rem 0 0;max-width:72ch;color:var(--muted);font-size:.92rem}
.scroll{overflow-x:auto;background:linear-gradient(90deg,var(--sheet) 30%,transparent) 0 0/40px 100% no-repeat local,linear-gradient(270deg,var(--sheet) 30%,transparent) 100% 0/40px 100% no-repeat local,linear-gradient(90deg,var(--line),transparent) 0 0/12px 100% no-repeat scroll,linear-gradient(270deg,var(--line),transparent) 100% 0/12px 100% no-repeat scroll}
.scroll:focus-visible,summary:focus-visible{outline:3px solid var(--dye);outline-offset:2px}
table{border-collapse:collapse;width:100%;font-size:.92rem;font-variant-numeric:tabular-nums lining-nums}
th,td{padding:.4rem 0 .4rem 1.4rem;text-align:right;white-space:nowrap;border-bottom:1px solid var(--line);vertical-align:baseline}
th:first-child,td:first-child{padding-left:0;text-align:left}
thead th{white-space:normal;min-width:4.6rem;color:var(--muted);font-weight:600;border-bottom:1.5px solid var(--muted);vertical-align:bottom}
tbody th{font-weight:500;white-space:normal;min-width:7rem;overflow-wrap:normal}
tbody tr:last-child th,tbody tr:last-child td{border-bottom:0}
details{margin-top:.8rem;font-size:.92rem}
summary{display:inline-block;padding:.15rem 0;cursor:pointer;color:var(--dye);text-decoration:underline;text-underline-offset:.2em}
details .scroll{max-height:22rem;overflow:auto;margin-top:.5rem}
dl{display:grid;grid-template-columns:minmax(8rem,max-content) 1fr;gap:.45rem 1.5rem}
dt{color:var(--muted)}
dd{margin:0;min-width:0}
@media screen and (min-width:60rem){
th,td{white-space:normal}
thead th,tbody th{min-width:0}
figure{max-width:53rem}
}
@media screen and (max-width:34rem){
body{padding-top:1.5rem}
h1{font-size:1.6rem}
.wide{display:none}
.narrow{display:block}
dl{grid-template-columns:1fr;gap:0}
dd+dt{margin-top:.6rem}
}
@media print{
:root{--paper:#fff;--sheet:#fff;--ink:#000;--muted:#444;--line:#bbb;--dye:#2f4f86}
body{max-width:none;padding:0;font-size:10pt}
figure,.table,.findings li{break-inside:avoid}
h2{break-after:avoid}
.scroll{overflow:visible;background:none}
table{font-size:8pt}
th,td,thead th,tbody th{white-space:normal;min-width:0;padding-left:.7rem}
details{display:none}
}
)";
}

}  // namespace weft::measure
