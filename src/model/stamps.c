/* The order tables of sections 3 and 4, as they are printed there: Y ordered, s ordered on one queue pair
 * (one node). */
#include "model/stamps.h"

static const char ippo[T_TYPES][T_TYPES + 1] = {
    /*        RWCFP NLR NRW NAR NAW NRR NLW NF */
    [T_LR] = "YYYYYYYYYYYY",  [T_LW] = "YYYYYYYYYYYY",  [T_CAS] = "YYYYYYYYYYYY", [T_F] = "YYYYYYYYYYYY",
    [T_P] = "YYYYYYYYYYYY",   [T_NLR] = ".....sssssss", [T_NRW] = "......ssssss", [T_NAR] = "......ssssss",
    [T_NAW] = "......ssssss", [T_NRR] = "..........ss", [T_NLW] = "..........ss", [T_NF] = ".....sssssss",
};

static const char sto[S_STAMPS][S_STAMPS + 1] = {
    /*         CR CW CAS MF WT NLR NRW NAR NRR NLW RF GF */
    [S_CR] = "YYYYYYYYYYYY",  [S_CW] = ".YYY.YYYYYYY",  [S_CAS] = "YYYYYYYYYYYY", [S_MF] = "YYYYYYYYYYYY",
    [S_WT] = "YYYYYYYYYYYY",  [S_NLR] = ".....sssssss", [S_NRW] = "......ssss.s", [S_NAR] = "......ssssss",
    [S_NRR] = ".........sss", [S_NLW] = ".........s.s", [S_RF] = ".....sssssss",  [S_GF] = "YYYYYYYYYYYY",
};

static bool lookup(char cell, bool same)
{
    return cell == 'Y' || (cell == 's' && same);
}

bool tso_ippo(enum tso_type a, enum tso_type b, bool sqp)
{
    return lookup(ippo[a][b], sqp);
}

bool tso_oppo(enum tso_type a, enum tso_type b, bool sqp)
{
    bool dropped = (a == T_LW && (b == T_LR || b == T_P)) ||
                   ((a == T_NRW || a == T_NAW || a == T_NLW) && b == T_NF) || (a == T_NAW && b == T_NLW);
    return !dropped && tso_ippo(a, b, sqp);
}

bool tso_instantaneous(enum tso_type type)
{
    return type != T_LW && type != T_NRW && type != T_NAW && type != T_NLW;
}

bool tso_is_nic(enum tso_type type)
{
    return type >= T_NLR;
}

bool stamp_order(enum stamp a, enum stamp b, bool same)
{
    return lookup(sto[a][b], same);
}

bool stamp_issue_order(enum stamp a, enum stamp b, bool same)
{
    bool added = (a == S_CW && (b == S_CR || b == S_WT)) || ((a == S_NRW || a == S_NLW) && b == S_RF && same);
    return added || stamp_order(a, b, same);
}

bool stamp_instantaneous(enum stamp stamp)
{
    return stamp != S_CW && stamp != S_NRW && stamp != S_NLW;
}

bool stamp_has_node(enum stamp stamp)
{
    return stamp >= S_NLR;
}

const char *tso_name(enum tso_type type)
{
    static const char *const names[] = {"lR",  "lW",  "CAS", "F",   "P",   "nlR",
                                        "nrW", "naR", "naW", "nrR", "nlW", "nF"};
    return names[type];
}

const char *stamp_name(enum stamp stamp)
{
    static const char *const names[] = {"aCR",  "aCW",  "aCAS", "aMF",  "aWT", "aNLR",
                                        "aNRW", "aNAR", "aNRR", "aNLW", "aRF", "aGF"};
    return names[stamp];
}
